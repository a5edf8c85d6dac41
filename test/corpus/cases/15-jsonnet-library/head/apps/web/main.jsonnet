local colors = import 'colors.libsonnet';
colors.web()
